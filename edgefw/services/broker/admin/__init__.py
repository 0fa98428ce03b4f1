"""The broker's admin endpoint: HTTP and JSON, to look at links and to change delays while a run goes on."""
