# Loss scale and training loss of one run, from the file that halfstep's scale_curve writes.
#   gnuplot -e "curve='scale_curve_seed0.csv'; picture='scale_curve.png'" plot_scale.gp
set terminal pngcairo size 1000, 700 font "sans,11"
set output picture
set datafile separator comma
set key top right
set grid
set format x ""
set lmargin 12
set multiplot layout 2, 1 title "fp16, dynamic loss scaling"

set logscale y
set format y "10^{%L}"
set ylabel "training loss (mean squared error)"
set bmargin 0.5
plot curve using 1:5 with lines linewidth 2 linecolor rgb "#1f5fa8" title "loss"

set logscale y 2
set format x "%g"
set format y "2^{%L}"
set ylabel "loss scale"
set offsets graph 0, graph 0, graph 0.05, graph 0.05
set xlabel "step"
set tmargin 0.5
set bmargin 4
set key top left
plot curve using 1:2 with steps linewidth 2 linecolor rgb "#c0561f" title "loss scale", \
     curve using 1:($3 == 0 ? $2 : NaN) with points pointtype 2 pointsize 1.6 linewidth 2 linecolor rgb "#000000" \
     title "skipped: gradients overflowed"
unset multiplot
