"""``loadline locust``: Locust's own command line, with requests on our engine."""

import sys

from loadline.locust.versions import Unusable


def main() -> None:
    try:
        import loadline.locust  # noqa: F401  (before anything of Locust's)
    except Unusable as why:
        sys.exit(f"loadline: {why}")
    import locust.main

    sys.argv[0] = "locust"
    locust.main.main()


if __name__ == "__main__":
    main()
