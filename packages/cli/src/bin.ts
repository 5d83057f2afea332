#!/usr/bin/env node
import { main } from './main.ts'

await main()
