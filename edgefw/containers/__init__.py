"""A run in containers: the file that describes it, and the containers as Docker's engine knows them."""
