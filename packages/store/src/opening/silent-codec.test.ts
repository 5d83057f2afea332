import { envelopeCodec, jsonFormat, msgpackFormat } from '@looseleaf/codec'
import { LooseleafError, type Codec, type Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { DataStore } from '../data-store.ts'

const msgpack = envelopeCodec({ format: msgpackFormat, alsoReads: [] })
const json = envelopeCodec({ format: jsonFormat, alsoReads: [] })

let driver: Driver
let warnings: string[]

beforeEach(async () => {
  driver = await memoryShards(2).connect()
  warnings = []
  onTestFinished(() => driver.close())
  const store = await open(msgpack)
  for (let n = 0; n < 40; n++) await store.put({ n })
})

async function open(codec: Codec, plan?: FaultPlan): Promise<DataStore> {
  const store = await DataStore.open({
    shards: keepOpen(plan === undefined ? driver : faultyDriver(driver, plan)),
    codec,
    migrate: plan === undefined,
    onWarning: (message) => void warnings.push(message),
  })
  onTestFinished(() => store.close())
  return store
}

const silent = (number: number, isPart: (operation: string) => boolean): FaultPlan => {
  const before = (): Promise<never> => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away.'))
  return ({ shard, operation }) => (shard === number && isPart(operation) ? { before } : undefined)
}
const always = (): boolean => true
/** The shard answers with its catalog, and then no more. */
const whenBodiesAreRead = (operation: string): boolean => operation.startsWith('pageBy')

test.each([
  [0, 'from the beginning', always],
  [1, 'from the beginning', always],
  [0, 'before its bodies are read', whenBodiesAreRead],
  [1, 'before its bodies are read', whenBodiesAreRead],
] as const)(
  'while shard %i is silent %s, the bodies of the other one show whether the codec fits',
  async (number, _, isPart) => {
    await expect(open(json, silent(number, isPart))).rejects.toMatchObject({
      code: 'BODY_UNKNOWN',
      shard: driver.shards[1 - number]!.name,
    })
    warnings = []
    await open(msgpack, silent(number, isPart))
    expect(warnings.filter((warning) => warning.includes('codec'))).toEqual([])
  },
)

test('a codec is neither refused nor warned of while no shard gives its bodies', async () => {
  const noBodies: FaultPlan = (call) => silent(call.shard, whenBodiesAreRead)(call)
  await open(json, noBodies)
  expect(warnings.filter((warning) => warning.includes('codec'))).toEqual([])
})
