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
  describe(`the driver contract: ${name}`, () => {
    describe('shards', () => shardContract(runner, make))
    describe('the catalog', () => catalogContract(runner, make, options))
    describe('entities', () => {
      entityContract(runner, make, options)
      entityPagesContract(runner, make)
      copiesContract(runner, make)
    })
    describe('batches', () => batchContract(runner, make, options))
    describe('the epoch fence', () => fenceContract(runner, make, options))
    describe('the floor', () => floorContract(runner, make))
    describe('purged tombstones', () => purgeContract(runner, make))
    describe('index rows', () => indexContract(runner, make))
    describe('scans', () => indexScanContract(runner, make))
    describe('scans with entities', () => joinedScanContract(runner, make, options))
    describe('covering tables', () => coveringContract(runner, make))
    describe('claims', () => claimContract(runner, make))
    describe('local rows', () => localRowContract(runner, make, options))
    describe('local rows of batches', () => batchedLocalRowContract(runner, make, options))
    describe('pending rows', () => pendingContract(runner, make))
    describe('snapshots', () => snapshotContract(runner, make, options))
    describe('tasks', () => taskContract(runner, make))
    describe('codec entries', () => codecEntryContract(runner, make))
  })
}
