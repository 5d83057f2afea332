import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Test files that take longest, the longest first. */
export const longest: readonly string[] = [
  'packages/looseleaf/test/moves/targets-that-go-back.test.ts',
  'apps/feed/test/browser.test.ts',
  'packages/driver-mysql/test/contract.int.test.ts',
  'packages/cli/test/help-examples.test.ts',
  'tooling/simulation/src/simulation.test.ts',
  'apps/feed/test/rate-limits.test.ts',
  'tooling/attacks/src/faults/keys/fight.long.int.test.ts',
  'apps/feed/test/mariadb.int.test.ts',
  'packages/changes/src/consumer/hours.test.ts',
  'apps/feed/test/live.test.ts',
  'packages/cli/test/command.test.ts',
  'tooling/checks/src/readme-examples/readme-examples.test.ts',
  'packages/driver-sqlite/src/contract.test.ts',
  'tooling/attacks/src/faults/matrix/matrix.int.test.ts',
  'tooling/checks/src/readme-examples/tutorial.test.ts',
  'packages/driver-mysql/src/bounds/silence.int.test.ts',
  'packages/looseleaf/test/moves/backups.int.test.ts',
  'apps/feed/test/live-index.test.ts',
  'apps/feed/test/day.test.ts',
  'packages/codec/src/codecs.test.ts',
  'packages/cli/test/shard-moves.test.ts',
  'packages/driver-mysql/src/bounds/breaker.int.test.ts',
  'packages/cli/test/unique-index.test.ts',
  'apps/feed/test/pages.test.ts',
  'packages/looseleaf/test/moves/followers.test.ts',
  'packages/cli/test/silent-shard.int.test.ts',
  'packages/looseleaf/test/removed-shards.int.test.ts',
  'packages/looseleaf/test/moves/consumers/phases.test.ts',
  'tooling/attacks/src/faults/replicas/replicas.int.test.ts',
  'packages/store/src/catalog/two-at-once.test.ts',
  'packages/cli/test/shard-moves.int.test.ts',
  'apps/feed/test/window-acts.test.ts',
  'packages/changes/src/consumer/slow-handlers.test.ts',
  'packages/looseleaf/test/removed-shards.test.ts',
  'apps/feed/test/live-streams.test.ts',
  'apps/feed/test/background.test.ts',
  'packages/driver-mysql/src/mysql-shards.int.test.ts',
  'packages/looseleaf/test/moves/consumers/failing.test.ts',
  'packages/cli/test/failing-shards.int.test.ts',
  'packages/looseleaf/test/moves/frozen-network.int.test.ts',
  'tooling/attacks/src/faults/history/history.int.test.ts',
  'packages/driver-mysql/src/settings/mixing-pooler.int.test.ts',
  'apps/bench/src/bench.test.ts',
  'packages/cleaner/src/clean/clean-index.test.ts',
  'packages/changes/src/watch/watch.test.ts',
  'tooling/models/src/protocol-model/moves/lost-copies.test.ts',
  'packages/looseleaf/test/article.int.test.ts',
  'packages/looseleaf/test/article.test.ts',
  'packages/looseleaf/test/shard-removals.test.ts',
  'packages/store/src/reading/inspection/inspect.test.ts',
  'apps/feed/test/cost.test.ts',
  'packages/looseleaf/test/moves/failovers.int.test.ts',
  'apps/feed/src/domain/imports/overlapping-undo.test.ts',
  'packages/looseleaf/test/moves/move.test.ts',
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
