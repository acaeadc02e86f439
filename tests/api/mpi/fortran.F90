! Windows from Fortran: by mpif.h, by `use mpi` (WITH_MPI) and by `use mpi_f08` (WITH_F08): handles, attributes, names, values.
! SPDX-License-Identifier: Apache-2.0
program fortran_windows
#if defined(WITH_F08)
  use mpi_f08
#elif defined(WITH_MPI)
  use mpi
#endif
  use, intrinsic :: iso_c_binding
  implicit none
#if !defined(WITH_F08) && !defined(WITH_MPI)
  include 'mpif.h'
#endif
#ifdef WITH_F08
  type(MPI_Win) :: win
  type(MPI_Request) :: request
  type(MPI_Group) :: group
  type(c_ptr) :: address
#else
  integer :: win, request, group
#ifdef WITH_MPI
  type(c_ptr) :: address
#else
  integer(kind=MPI_ADDRESS_KIND) :: address
#endif
#endif
  integer, parameter :: numbers = 8
  integer, pointer :: memory(:)
  integer :: me, ranks, next, last, ierr, mistakes, total, value, got, members
  integer(kind=MPI_ADDRESS_KIND) :: bytes, attribute, place
  logical :: flag

  mistakes = 0
  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, me, ierr)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
  next = mod(me + 1, ranks)
  last = mod(me + ranks - 1, ranks)
  bytes = 4 * numbers
  call MPI_WIN_ALLOCATE(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, address, win, ierr)
#if defined(WITH_F08) || defined(WITH_MPI)
  call c_f_pointer(address, memory, [numbers])
#else
  call c_f_pointer(transfer(address, c_null_ptr), memory, [numbers])
#endif
  memory = 0

  call MPI_WIN_GET_ATTR(win, MPI_WIN_SIZE, attribute, flag, ierr)
  call check(flag .and. attribute == bytes, 'size')
  call MPI_WIN_GET_ATTR(win, MPI_WIN_DISP_UNIT, attribute, flag, ierr)
  call check(flag .and. attribute == 4, 'unit')
  call MPI_WIN_GET_ATTR(win, MPI_WIN_BASE, attribute, flag, ierr)
  call check(flag .and. attribute == transfer(c_loc(memory), attribute), 'base')
  call MPI_WIN_GET_ATTR(win, MPI_WIN_CREATE_FLAVOR, attribute, flag, ierr)
  call check(flag .and. attribute == MPI_WIN_FLAVOR_ALLOCATE, 'flavour')
  call MPI_WIN_GET_ATTR(win, MPI_WIN_MODEL, attribute, flag, ierr)
  call check(flag .and. attribute == MPI_WIN_UNIFIED, 'model')
  call MPI_WIN_GET_GROUP(win, group, ierr)
  call MPI_GROUP_SIZE(group, members, ierr)
  call check(members == ranks, 'group')
  call MPI_GROUP_FREE(group, ierr)

  call MPI_WIN_FENCE(0, win, ierr)
  value = 100 + me
  place = 2
  call MPI_PUT(value, 1, MPI_INTEGER, next, place, 1, MPI_INTEGER, win, ierr)
  call MPI_WIN_FENCE(MPI_MODE_NOSUCCEED, win, ierr)
  call check(memory(3) == 100 + last, 'put')
  call MPI_WIN_LOCK_ALL(0, win, ierr)
  call MPI_RGET(got, 1, MPI_INTEGER, next, place, 1, MPI_INTEGER, win, request, ierr)
  call MPI_WAIT(request, MPI_STATUS_IGNORE, ierr)
  call check(got == 100 + me, 'get')
  value = 1
  place = 0
  call MPI_FETCH_AND_OP(value, got, MPI_INTEGER, 0, place, MPI_SUM, win, ierr)
  call MPI_WIN_FLUSH(0, win, ierr)
  call check(got >= 0 .and. got < ranks, 'fetch_and_op')
  call MPI_WIN_UNLOCK_ALL(win, ierr)
  call MPI_WIN_FREE(win, ierr)
  call check(win == MPI_WIN_NULL, 'free')

  call MPI_ALLREDUCE(mistakes, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (me == 0 .and. total == 0) print '(a,i0,a)', 'passed: ', ranks, ' ranks, all'
  call MPI_FINALIZE(ierr)
  if (total /= 0) stop 1

contains
  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    mistakes = mistakes + 1
    print *, 'rank', me, ': ', what, ' is wrong'
  end subroutine
end program
