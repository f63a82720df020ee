"""Subscriptions: who wants to hear of which resource, and a look at the few files behind them four times a second."""
