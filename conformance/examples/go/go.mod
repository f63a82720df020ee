module nexus-example

go 1.19
