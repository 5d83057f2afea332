import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import * as vitest from 'vitest'
import { claimContract } from './claims.ts'

vitest.describe('claims of the reference driver', () =>
  claimContract({
    runner: vitest,
    make: async () => ({ driver: createReferenceDriver({ shards: 1 }), cleanUp: async () => {} }),
    options: {},
  }),
)
