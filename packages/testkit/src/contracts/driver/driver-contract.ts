import type { TestFunctions } from '../test-functions.ts'
import { batchContract } from './batches.ts'
import { catalogContract } from './catalog.ts'
import { claimContract } from './claims.ts'
import { codecEntryContract } from './codec-entries.ts'
import { copiesContract } from './copies.ts'
import { entityContract } from './entities.ts'
import { entityPagesContract } from './pages.ts'
import { fenceContract } from './fence.ts'
import type { DriverContractOptions, MakeDriverHarness } from './harness.ts'
import { coveringContract } from './covering.ts'
import { indexScanContract } from './index-scans.ts'
import { joinedScanContract } from './joined-scans.ts'
import { floorContract } from './floor.ts'
import { indexContract } from './index-rows.ts'
import { batchedLocalRowContract } from './local-rows-of-batches.ts'
import { localRowContract } from './local-rows.ts'
import { pendingContract } from './pending.ts'
import { purgeContract } from './purge.ts'
import { shardContract } from './shard.ts'
import { snapshotContract } from './snapshots.ts'
import { taskContract } from './tasks.ts'

/**
 * Defines the tests of every driver: one for each sentence of the ports. Call it at the top of a test file. `make` is called for each
 * part, and returns a driver on fresh, empty databases.
 */
export function driverContract(
  runner: TestFunctions,
  name: string,
  make: MakeDriverHarness,
  options: DriverContractOptions = {},
): void {
  const { describe } = runner
  const parts = { runner, make, options }
  describe(`the driver contract: ${name}`, () => {
    describe('shards', () => shardContract(parts))
    describe('the catalog', () => catalogContract(parts))
    describe('entities', () => {
      entityContract(parts)
      entityPagesContract(parts)
      copiesContract(parts)
    })
    describe('batches', () => batchContract(parts))
    describe('the epoch fence', () => fenceContract(parts))
    describe('the floor', () => floorContract(parts))
    describe('purged tombstones', () => purgeContract(parts))
    describe('index rows', () => indexContract(parts))
    describe('scans', () => indexScanContract(parts))
    describe('scans with entities', () => joinedScanContract(parts))
    describe('covering tables', () => coveringContract(parts))
    describe('claims', () => claimContract(parts))
    describe('local rows', () => localRowContract(parts))
    describe('local rows of batches', () => batchedLocalRowContract(parts))
    describe('pending rows', () => pendingContract(parts))
    describe('snapshots', () => snapshotContract(parts))
    describe('tasks', () => taskContract(parts))
    describe('codec entries', () => codecEntryContract(parts))
  })
}
