// Bugs that a test plants, to see that the tests of the shared heap find them: at least one for each invariant of
// docs/dsm.md with a star. In every other build `planted` is a constant, and its branches are gone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace grapnel::dsm {

enum class Bug {
  none,
  published_before_applied,  ///< 1: an interval is made before the homes have acknowledged its diffs
  have_of_the_answer,        ///< 2: `have` is what is wanted when the answer comes
  twin_not_updated,          ///< 3: a merge leaves the twin as it was
  merge_overwrites,          ///< 5: a merge writes the whole page
  fetch_beside_flush,        ///< 6: a flush gives `busy` back before its home has acknowledged
  dirt_forgotten,            ///< 7: what is unmapped is not compared with its twin
  given_back_before_named,   ///< 7: a flush gives `busy` back before its interval is there
  steady_not_counted,        ///< 7: a page that stays writable does not count as written
  steady_not_asked,          ///< 7: … nor does one that another rank flushes
  busy_not_asked,            ///< 7: … nor whether another rank flushes it
  mark_after_look,           ///< 8: the server marks a page as served after it has copied it
  served_not_read,           ///< 8: a release does not look which home pages were served
  predicted_not_named,       ///< 8: a page that is predicted to be written does not count as written
  named_for_ever,            ///< 8: a page that was named is never tracked again
  own_place_skipped,         ///< 9: a rank skips the stale log where its node knew all before
  moved_while_stale,         ///< 10: a stale copy becomes the home's page
  moved_unserved,            ///< 10: the new home does not count the page as served
  moved_unknown,             ///< 10: the nodes beside the old and the new home go on with the old one
  moved_still_mapped,        ///< 10: the old home's ranks keep their mappings
  moved_not_awaited,         ///< 10: a request of a newer era is carried out before the node's step
  moved_before_news,         ///< 10: moves are applied before the intervals of their barrier
  queued_after_release,      ///< 17: a rank enters a condition's queue after it has released the lock
  notice_before_record,      ///< 14: a notice is applied, and no record made before
  record_without_interval,   ///< 14: a record is made of what no interval names yet, as part of an older one
  records_not_asked_for,     ///< 14: records of intervals that the asker does not know are given, too
  more_than_told,            ///< 14: an acquire applies notices that the releaser did not know
  records_in_any_order,      ///< 15: records are merged from the newest to the oldest
  dropped_and_silent,        ///< 16: a node that has dropped records answers with those that it still has
  kept_and_stale,            ///< 16: a keeper does not make valid what it keeps
};

#ifdef GRAPNEL_DSM_PLANTED
extern Bug planted_bug;
inline bool planted(Bug bug) { return planted_bug == bug; }
#else
constexpr bool planted(Bug) { return false; }
#endif

}  // namespace grapnel::dsm
