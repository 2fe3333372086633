! SPDX-License-Identifier: LGPL-2.1-or-later
!
! libckptctl for Fortran: what of it a program calls about its own memory. See ckpt_exclude(3).
! To be compiled with the program:
!
!   use ckptctl
!   use iso_c_binding
!   real(8), allocatable, target :: scratch(:)
!   integer(c_int) :: err
!   err = ckpt_exclude(c_loc(scratch), storage_size(scratch, c_size_t) / 8 * size(scratch, kind=c_size_t))
!
! Each returns 0 or a negative errno.

module ckptctl
  implicit none

  interface
     function ckpt_exclude(addr, length) bind(c, name='ckpt_exclude') result(err)
       use iso_c_binding, only: c_ptr, c_size_t, c_int
       type(c_ptr), value :: addr
       integer(c_size_t), value :: length
       integer(c_int) :: err
     end function ckpt_exclude

     function ckpt_include(addr, length) bind(c, name='ckpt_include') result(err)
       use iso_c_binding, only: c_ptr, c_size_t, c_int
       type(c_ptr), value :: addr
       integer(c_size_t), value :: length
       integer(c_int) :: err
     end function ckpt_include

     function ckpt_discard(addr, length) bind(c, name='ckpt_discard') result(err)
       use iso_c_binding, only: c_ptr, c_size_t, c_int
       type(c_ptr), value :: addr
       integer(c_size_t), value :: length
       integer(c_int) :: err
     end function ckpt_discard
  end interface
end module ckptctl
