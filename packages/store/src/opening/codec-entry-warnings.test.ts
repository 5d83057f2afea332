import { envelopeCodec } from '@looseleaf/codec'
import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { keepOpen } from '@looseleaf/testkit'
import { expect, onTestFinished, test } from 'vitest'
import { DataStore } from '../data-store.ts'

const reference = createReferenceDriver({ shards: 1 })
const { codecEntries, contents } = reference.shards[0]!

async function open(onWarning: (message: string) => void): Promise<DataStore> {
  const store = await DataStore.open({
    shards: keepOpen(reference),
    codec: envelopeCodec({ shapes: true }),
    migrate: true,
    time: { now: () => Date.now(), sleep: async () => {} },
    onWarning,
  })
  onTestFinished(() => store.close())
  return store
}

test('a process gives at most 100 different warnings of codec entries, each once', async () => {
  const writer = await open(() => {})
  const hasEntries = (): boolean => contents()?.requires?.some(({ name }) => name === 'definitions') === true
  while (!hasEntries()) {
    await writer.put({ name: 'ada', place: 'here', title: 'one', year: 1 })
    await new Promise(setImmediate)
  }
  for (let n = 0; n < 150; n++) {
    const id = `forged${n}`
    codecEntries.rows.set(id, { id, kind: 'shape', bytes: Buffer.from('[]'), added: n + 1 })
  }
  const warnings: string[] = []
  await open((message) => void warnings.push(message))
  const forged = warnings.filter((message) =>
    /the row "forged\d+" of looseleaf_codec is not used/.test(message),
  )
  expect(forged).toHaveLength(100)
  expect(new Set(warnings).size).toBe(warnings.length)
})
