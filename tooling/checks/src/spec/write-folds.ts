import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { foldTests } from './fold-tests.ts'

const page = join(import.meta.dirname, '../../../../docs/spec.md')
writeFileSync(page, foldTests(readFileSync(page, 'utf8')))
