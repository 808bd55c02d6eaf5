#!/bin/bash
python train.py experiment=large
