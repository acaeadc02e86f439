// Requests whose answers a rank waits for.
//
// A question has `node`, `done`, `body()`, `reply_bytes()` (what its answer brings at most), and a static `answered`
// that takes the answer and sets `done`. It lies on the heap and not the stack: where the wait fails, a late answer
// still finds it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "progress/client.hpp"

namespace grapnel::dsm {

/// The first question that is not done; the end where all are.
template <typename Question>
auto first_open(const std::vector<std::unique_ptr<Question>>& questions) {
  return std::find_if(questions.begin(), questions.end(), [](const auto& one) { return !one->done; });
}

/// How many questions `ask_all` sends.
template <typename Question>
std::size_t open_among(const std::vector<std::unique_ptr<Question>>& questions) {
  return static_cast<std::size_t>(
      std::count_if(questions.begin(), questions.end(), [](const auto& one) { return !one->done; }));
}

/// Sends the questions that are not done, calls `work`, which the answers do not need but are the faster for, and waits
/// until all are done. Where it fails they are left to late answers, and the pointers are null. Errors: those of a
/// send; peer_dead.
template <typename Question, typename Work>
Status ask_all(progress::Client& client, progress::HandlerId handler, std::vector<std::unique_ptr<Question>>& questions,
               Work work) {
  if (questions.empty()) return {};
  const progress::Client::Guard guard(client);
  Status waited;
  for (const auto& question : questions) {
    if (question->done || !waited.ok()) continue;
    progress::OutgoingRequest request;
    request.handler = handler;
    request.body = question->body();
    request.reply_bytes = question->reply_bytes();
    request.on_reply = {Question::answered, question.get()};
    waited = client.send(NodeId{static_cast<int>(question->node)}, request).status();
  }
  if (waited.ok()) {
    work();
    waited = client.wait_until(
        [&] { return first_open(questions) == questions.end(); }, progress::Waiting::kForever,
        [&] {
          const auto open = first_open(questions);
          const std::size_t node = open != questions.end() ? (*open)->node : questions.front()->node;
          return progress::WaitSubject{progress::WaitKind::answer, "access to the shared heap", {node}};
        });
  }
  if (!waited.ok()) {
    for (auto& question : questions) static_cast<void>(question.release());
  }
  return waited;
}

template <typename Question>
Status ask_all(progress::Client& client, progress::HandlerId handler,
               std::vector<std::unique_ptr<Question>>& questions) {
  return ask_all(client, handler, questions, [] {});
}

/// The same with one question.
template <typename Question>
Status ask(progress::Client& client, progress::HandlerId handler, std::unique_ptr<Question>& question) {
  std::vector<std::unique_ptr<Question>> one(1);
  one[0] = std::move(question);
  Status waited = ask_all(client, handler, one);
  question = std::move(one[0]);
  return waited;
}

}  // namespace grapnel::dsm
