import { memoryShards } from '@looseleaf/driver-sqlite'
import { editTask } from '@looseleaf/protocol/internal'
import { expect, onTestFinished, test } from 'vitest'
import { DataStore } from '../data-store.ts'
import { NOTES_TASK, notesFromText, notesToText, type FailureNote } from '../failures/failure-note.ts'

test('a plan warns of processes whose calls fail on a target now', async () => {
  const store = await DataStore.open({ shards: memoryShards(2), migrate: true })
  onTestFinished(() => store.close())
  const [first, second] = store.context.driver.shards
  const failure = {
    code: 'SHARD_DENIED',
    count: 3,
    lastAt: Date.now(),
    message: 'access was denied.',
  } as const
  const noteOf = (process: string, shard: string, isOver: boolean, ageMs = 0): FailureNote => ({
    key: process,
    process,
    at: new Date(Date.now() - ageMs),
    isOver,
    periodMs: 60_000,
    calls: 10,
    failures: [{ ...failure, shard }],
  })
  for (const note of [
    noteOf('web-1:7', second!.name, false),
    noteOf('web-2:8', second!.name, true),
    noteOf('web-3:9', first!.name, false),
    // A process with failing calls notes them once a minute.
    noteOf('ended:10', second!.name, false, 4 * 60_000),
  ])
    await editTask(first!.tasks, NOTES_TASK, (text) => notesToText(notesFromText(text), note), {
      owner: note.key,
    })
  const { warnings } = await store.shards.plan({ from: 0, to: 1, buckets: '0-9' })
  expect(warnings.filter((warning) => warning.includes('Process'))).toEqual([
    `Process web-1:7 may not reach ${second!.name}: 3 of its calls failed there with SHARD_DENIED (access was denied.)`,
  ])
})
