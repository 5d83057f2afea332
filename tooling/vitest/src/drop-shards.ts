import { afterAll } from 'vitest'
import { openShards } from './open-shards.ts'

// In a setup file, because vitest runs it for every test file, while modules load once per worker.
afterAll(async () => {
  await Promise.all([...openShards].map((shards) => shards.drop()))
})
