import { afterAll } from 'vitest'
import { openShards } from './open-shards.ts'

// A setup file, since vitest runs it before every test file; modules are loaded once a worker.
afterAll(async () => {
  await Promise.all([...openShards].map((shards) => shards.drop()))
})
