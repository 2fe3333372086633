! SPDX-License-Identifier: GPL-2.0-only
!
! An out-of-core solver's scratch file: records of direct access, updated in place.
program direct
    use, intrinsic :: iso_c_binding, only: c_int
    implicit none
    interface
        integer(c_int) function usleep(us) bind(c)
            import :: c_int
            integer(c_int), value :: us
        end function
    end interface
    integer, parameter :: records = 60, steps = 60
    real(8) :: r(512)
    integer :: i, step, unit
    integer(c_int) :: ignored

    open (newunit=unit, file='scratch.dat', access='direct', recl=4096, form='unformatted', &
          status='replace')
    r = 1d0
    do i = 1, records
        write (unit, rec=i) r
    end do
    do step = 1, steps
        do i = 1, records / 2
            read (unit, rec=i) r
            r = r * 1.01d0 + dble(i) * 1d-3
            write (unit, rec=i) r
            if (i == records / 4) ignored = usleep(25000_c_int)
        end do
        flush (unit)
        if (mod(step, 10) == 0) print '(i4, es23.15)', step, r(1)
        ignored = usleep(25000_c_int)
    end do
    read (unit, rec=7) r
    print '(es23.15)', sum(r)
end program
