"""The pages that are made from the code: each module has a `page`, in Markdown."""
