import { describe } from 'vitest'
import { catalogContract } from './driver-contract-catalog.ts'
import { claimContract } from './driver-contract-claims.ts'
import { entityContract } from './driver-contract-entities.ts'
import { entityPagesContract } from './driver-contract-pages.ts'
import { fenceContract } from './driver-contract-fence.ts'
import type { DriverContractOptions, MakeDriverHarness } from './driver-contract-harness.ts'
import { coveringContract } from './driver-contract-covering.ts'
import { indexScanContract } from './driver-contract-index-scan.ts'
import { indexContract } from './driver-contract-index.ts'
import { pendingContract } from './driver-contract-pending.ts'
import { shardContract } from './driver-contract-shard.ts'
import { taskContract } from './driver-contract-tasks.ts'

/**
 * Says in tests what every driver has to do: each sentence of the ports is one. Call it at the top of a test file;
 * `make` is called for each part and has to give fresh, empty databases.
 */
export function driverContract(
  name: string,
  make: MakeDriverHarness,
  options: DriverContractOptions = {},
): void {
  describe(`the driver contract: ${name}`, () => {
    describe('shards', () => shardContract(make))
    describe('the catalog', () => catalogContract(make, options))
    describe('entities', () => {
      entityContract(make, options)
      entityPagesContract(make)
    })
    describe('the epoch fence', () => fenceContract(make, options))
    describe('index rows', () => indexContract(make))
    describe('scans', () => indexScanContract(make))
    describe('covering tables', () => coveringContract(make))
    describe('claims', () => claimContract(make))
    describe('pending rows', () => pendingContract(make))
    describe('tasks', () => taskContract(make))
  })
}
