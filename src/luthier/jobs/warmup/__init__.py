"""Small jobs that reach every kernel, by the room that has it: `lists`, `landscape` and `engine`."""
