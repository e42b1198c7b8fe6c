#!/bin/sh
xl create -p driver.cfg
xl create -p control.cfg
xl sched-rtds -d control -v all -p 10000 -b 2500 -e 1  # microseconds
xl unpause DomD
