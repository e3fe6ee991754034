"""From equations to proved trees of loops: dependences, regions, leaves."""
