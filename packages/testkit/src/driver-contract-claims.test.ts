import { createReferenceDriver } from '@looseleaf-tooling/reference-driver'
import { describe } from 'vitest'
import { claimContract } from './driver-contract-claims.ts'

describe('claims of the reference driver', () =>
  claimContract(async () => ({ driver: createReferenceDriver({ shards: 1 }), cleanUp: async () => {} })))
