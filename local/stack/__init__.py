"""The laptop stack: the whole product on an emulator of AWS, on 127.0.0.1, with no account and no Docker."""

from local.stack.places import StackError
from local.stack.stack import Stack
from local.stack.start import Wanted

__all__ = ["Stack", "StackError", "Wanted"]
