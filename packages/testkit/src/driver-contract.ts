import { catalogContract } from './driver-contract-catalog.ts'
import { claimContract } from './driver-contract-claims.ts'
import { definitionContract } from './driver-contract-definitions.ts'
import { entityContract } from './driver-contract-entities.ts'
import { entityPagesContract } from './driver-contract-pages.ts'
import { fenceContract } from './driver-contract-fence.ts'
import type { DriverContractOptions, MakeDriverHarness } from './driver-contract-harness.ts'
import { coveringContract } from './driver-contract-covering.ts'
import { indexScanContract } from './driver-contract-index-scan.ts'
import { floorContract } from './driver-contract-floor.ts'
import { indexContract } from './driver-contract-index.ts'
import { pendingContract } from './driver-contract-pending.ts'
import { purgeContract } from './driver-contract-purge.ts'
import { shardContract } from './driver-contract-shard.ts'
import { taskContract } from './driver-contract-tasks.ts'
import type { TestFunctions } from './test-functions.ts'

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
    })
    describe('the epoch fence', () => fenceContract(runner, make, options))
    describe('the floor', () => floorContract(runner, make))
    describe('purged tombstones', () => purgeContract(runner, make))
    describe('index rows', () => indexContract(runner, make))
    describe('scans', () => indexScanContract(runner, make))
    describe('covering tables', () => coveringContract(runner, make))
    describe('claims', () => claimContract(runner, make))
    describe('pending rows', () => pendingContract(runner, make))
    describe('tasks', () => taskContract(runner, make))
    describe('definitions', () => definitionContract(runner, make))
  })
}
