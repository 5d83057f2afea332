import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Test files that take longest, the longest first. */
export const longest: readonly string[] = [
  'apps/feed/test/browser.test.ts',
  'apps/feed/test/mariadb.int.test.ts',
  'apps/feed/test/rate-limits.test.ts',
  'tooling/attacks/src/faults/history/history.int.test.ts',
  'tooling/attacks/src/faults/matrix/matrix.int.test.ts',
  'tooling/attacks/src/faults/keys/fight.long.int.test.ts',
  'tooling/simulation/src/simulation.test.ts',
  'packages/driver-mysql/test/contract.int.test.ts',
  'packages/driver-sqlite/src/contract.test.ts',
  'packages/cli/test/help-examples.test.ts',
  'tooling/checks/src/readme-examples/tutorial.test.ts',
  'tooling/checks/src/readme-examples/readme-examples.test.ts',
  'packages/cli/test/command.test.ts',
  'packages/driver-mysql/src/bounds/silence.int.test.ts',
  'packages/changes/src/consumer/hours.test.ts',
  'tooling/attacks/src/faults/replicas/replicas.int.test.ts',
  'apps/bench/src/bench.test.ts',
  'packages/store/src/catalog/two-at-once.test.ts',
  'packages/driver-mysql/src/bounds/breaker.int.test.ts',
  'packages/cli/test/shard-moves.test.ts',
  'packages/looseleaf/test/removed-shards.int.test.ts',
  'tooling/models/src/model-based/flaws.test.ts',
  'packages/cli/test/silent-shard.int.test.ts',
  'packages/cli/test/failing-shards.int.test.ts',
  'tooling/attacks/src/faults/replicas/several-replicas.int.test.ts',
  'packages/driver-mysql/src/connection/tls.int.test.ts',
]

/** Runs long files first, so that no worker is busy alone at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const root = this.ctx.config.root
    // The sort of a sequencer changes nothing.
    // oxlint-disable-next-line unicorn/no-array-sort
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => place(relative(root, a.moduleId)) - place(relative(root, b.moduleId)))
  }
}

/** Returns the place of a file in the list; files outside of it are behind it. */
function place(file: string): number {
  const index = longest.indexOf(file)
  return index === -1 ? longest.length : index
}
