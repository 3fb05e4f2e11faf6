"""How a text is meant: as LARS, or as a program of Ticker or Laser."""

from enum import StrEnum


class Dialect(StrEnum):
    LARS = "lars"
    TICKER = "ticker"
    LASER = "laser"
