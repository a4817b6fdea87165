#!/bin/bash
echo "nothing is done"
