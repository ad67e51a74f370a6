"""A command, or the pages, that wait for the store no longer than they are told to."""

from __future__ import annotations

import os
import sys

from review.store import database_url


def main(seconds: float, words: list[str]) -> int:
    """Run the command line; of `pages URL…` ask each page, and name those that are not well."""
    database_url.BUSY_SECONDS = seconds
    if words[0] == "pages":
        return _ask(words[1:])
    from commonplace_site import console

    return console.run(words)


def _ask(urls: list[str]) -> int:
    os.environ["DJANGO_SETTINGS_MODULE"] = "commonplace_site.settings.web"
    import django

    django.setup()
    from django.contrib.auth import get_user_model, user_logged_in
    from django.test import Client

    # To log in is to write; who is logged in already, as here, does not.
    user_logged_in.disconnect(dispatch_uid="update_last_login")

    client = Client(raise_request_exception=False, SERVER_NAME="localhost")
    client.force_login(get_user_model().objects.get(), backend=_BACKEND)
    wrong = {
        url: answer.status_code for url in urls if (answer := client.get(url)).status_code != 200
    }
    sys.stdout.write(f"{wrong}\n")
    return bool(wrong)


_BACKEND = "django.contrib.auth.backends.ModelBackend"

if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
