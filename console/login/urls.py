"""Routes of login and logout, at the paths of Flyte."""

from django.urls import path

from console.login import callback, choice, identity, logout
from console.login.password import password_page

urlpatterns = [
    path("login", choice.login, name="login"),
    path("login/local", password_page, name="login-local"),
    path("callback", callback.callback, name="login-callback"),
    path("logout", logout.logout, name="logout"),
    path("account/identities/link", identity.link, name="identity-link"),
]
