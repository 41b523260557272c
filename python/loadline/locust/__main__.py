"""``loadline locust``: Locust's own command line, with requests sent by Loadline's engine."""

import sys

import locust.main


def main() -> None:
    sys.argv[0] = "locust"
    locust.main.main()


if __name__ == "__main__":
    main()
