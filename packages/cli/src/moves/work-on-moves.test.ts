import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { LooseleafError } from '@looseleaf/core'
import type { DataStore, MoveOptions } from '@looseleaf/store'
import { expect, test } from 'vitest'
import { createOutput } from '../output/output.ts'
import { workOnMoves } from './work-on-moves.ts'

const down = (): LooseleafError =>
  new LooseleafError('SHARD_UNAVAILABLE', 'db2: the server could not be reached.')

/** Runs work on moves of a store whose moves cannot be read, and returns its error and the lines for people. */
async function printed(
  work: (options: MoveOptions) => Promise<void>,
): Promise<{ readonly error: unknown; readonly lines: readonly string[] }> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const { signal } = new AbortController()
  const console = { stdin: Readable.from([]), stdout, stderr, env: {}, cwd: '', signal }
  const store = { shards: { moves: () => Promise.reject(down()) } } as unknown as DataStore
  const error = await workOnMoves(
    {
      console,
      output: createOutput(console, false),
      signal,
      settings: () => Promise.reject(new Error('The work needs no settings.')),
      openStore: () => Promise.resolve(store),
      close: () => Promise.resolve(),
    },
    {},
    work,
  ).catch((thrown: unknown) => thrown)
  stderr.end()
  return { error, lines: (await text(stderr)).trimEnd().split('\n') }
}

test('a command for moves tells during a wait for a shard which one it is, and when it tries again', async () => {
  const { lines } = await printed(async ({ onRetry }) => {
    onRetry?.(down(), 500)
    onRetry?.(down(), 8_000)
  })
  expect(lines).toEqual([
    'Trying again in 1 s: db2: the server could not be reached.',
    'Trying again in 8 s: db2: the server could not be reached.',
  ])
})

test('a command for moves whose shard stays down names the commands to go on when the shard is back', async () => {
  const error = down()
  const { lines, ...rest } = await printed(() => Promise.reject(error))
  expect(rest).toEqual({ error })
  expect(lines).toEqual([
    'Moves stay announced, and their progress is saved. When all shards answer, repeat the command, or go on with: looseleaf shard repair',
  ])
})
