"""The script that compares elementwise operations in one and in several threads."""

from theano.misc.elemwise_openmp_speedup import main


def test_it_reports_both_operations(capsys):
    assert main(["-N", "2000", "--iter", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["Fast", "Slow"]
    assert all("without openmp" in line and "speedup" in line for line in lines)
