import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteShards } from 'looseleaf'
import { afterAll } from 'vitest'
import { describeArticle } from './article-scenario.ts'

const folder = mkdtempSync(join(tmpdir(), 'looseleaf-article-'))
afterAll(() => rmSync(folder, { recursive: true }))

describeArticle('two SQLite shards', async () => sqliteShards({ folder, shards: 2 }))
