//! How deep the stack was: the runtime paints it before `main`, and what was used is painted no
//! more.

use cortex_m_rt::STACK_PAINT_VALUE;

unsafe extern "C" {
    // The linker script's: the first address above the stack, and its lowest word.
    static _stack_start: u32;
    static _stack_end: u32;
}

/// Bytes of the stack that were used, at most, since the start; and all there are.
pub fn depth() -> (usize, usize) {
    let (top, bottom) = (&raw const _stack_start, &raw const _stack_end);
    let room = top as usize - bottom as usize;
    let mut free = 0;
    while free < room {
        // SAFETY: between the two addresses is RAM that belongs to the stack alone, and both are
        // multiples of 4; a word there can be read whatever it holds.
        let word = unsafe { bottom.byte_add(free).read_volatile() };
        if word != STACK_PAINT_VALUE {
            break;
        }
        free += 4;
    }
    (room - free, room)
}
