! SPDX-License-Identifier: GPL-2.0-only
!
! ckpt_exclude() and its companions from Fortran. Exit status 0: each did what it says.

program exclude
  use ckptctl
  use iso_c_binding
  implicit none
  real(c_double), allocatable, target :: old(:)
  integer(c_size_t) :: length

  allocate (old(100000))
  length = 8 * size(old, kind=c_size_t)
  old = 1
  if (ckpt_exclude(c_loc(old), length) /= 0) stop 1
  if (ckpt_include(c_loc(old), length) /= 0) stop 2
  if (ckpt_exclude(c_loc(old), 0_c_size_t) >= 0) stop 3
  if (sum(old) /= size(old)) stop 4
  if (ckpt_discard(c_loc(old), length) /= 0) stop 5
  if (old(50000) /= 0) stop 6
end program exclude
