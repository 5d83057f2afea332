import { createRandom, type Random } from '@looseleaf-tooling/kit/random'
import { envelopeCodec, type Bag, type Codec } from 'looseleaf'
import { createEntry } from '../workload/entry.ts'

/*
 * Prints the size of bodies, and the CPU time to encode and decode one: self-contained, with shapes, with a dictionary, with both,
 * and as JSON. Encoding includes the preparation of a bag that `put` does. Run it by `pnpm --filter bench body-sizes`.
 */

const BAGS = 2_000
const ROUNDS = 7

/** Returns an entry like that of the article, without its id, which the store keeps apart. Ids are text, times are numbers. */
function articleEntry(random: Random): Bag {
  const user = random.uuid().replaceAll('-', '')
  const title = Array.from({ length: 9 }, () => random.pick(WORDS)).join(' ')
  const published = 1_235_697_046 + random.below(10_000_000)
  const link = `http://friendfeed.com/e/${random.uuid()}`
  return {
    user_id: user,
    feed_id: user,
    title,
    link,
    published,
    updated: published,
  }
}

const WORDS =
  'we just launched a new backend system for our site and it makes the pages much faster than those that you had before'.split(
    ' ',
  )

type StoreCodec = ReturnType<NonNullable<Codec['forStore']>>

/** Returns a codec that has learned the shape of these bags and a dictionary trained on them, as the options say. */
function supplied(bags: readonly Bag[], options: { shapes?: boolean; dictionary?: boolean }): StoreCodec {
  const codec = envelopeCodec(options).forStore?.() as StoreCodec
  const { codecEntries } = codec
  for (const bag of bags.slice(0, 100)) codec.encode(bag)
  const give = (definition: ReturnType<typeof codecEntries.train>): void => {
    codecEntries.learn({ ...definition, added: 1 })
    codecEntries.confirm(definition.id)
  }
  codecEntries.wanted().forEach(give)
  if (options.dictionary === true) give(codecEntries.train(bags, 4096))
  return codec
}

interface Way {
  readonly name: string
  encode(bag: Bag): Uint8Array | string
  decode(body: never): unknown
}

/** Returns microseconds of CPU per call. */
function cpuOf(run: () => void, calls: number): number {
  const before = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / calls
}

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] as number

function measure(name: string, make: () => Bag): void {
  // A dictionary trained on the measured bags themselves would compress them too well.
  const training = Array.from({ length: BAGS }, () => make())
  const bags = Array.from({ length: BAGS }, () => make())
  const ways: Way[] = [
    {
      name: 'JSON text',
      encode: (bag) => JSON.stringify(bag),
      decode: (text) => JSON.parse(text) as unknown,
    },
    { ...supplied(training, {}), name: 'self-contained' },
    { ...supplied(training, { shapes: true }), name: 'shapes' },
    { ...supplied(training, { dictionary: true }), name: 'dictionary' },
    { ...supplied(training, { shapes: true, dictionary: true }), name: 'shapes and dictionary' },
  ]
  const bodies = ways.map((way) => bags.map((bag) => way.encode(bag)))
  const times = ways.map(() => ({ encode: [] as number[], decode: [] as number[] }))
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, way] of ways.entries()) {
      times[i]?.encode.push(cpuOf(() => bags.forEach((bag) => way.encode(bag)), BAGS))
      times[i]?.decode.push(cpuOf(() => bodies[i]?.forEach((body) => way.decode(body as never)), BAGS))
    }
  }
  console.log(`\n${name}\n| bodies | bytes | encode µs | decode µs |\n| --- | --: | --: | --: |`)
  for (const [i, way] of ways.entries()) {
    const bytes = (bodies[i] ?? []).reduce((sum, body) => sum + Buffer.byteLength(body), 0) / BAGS
    const { encode = [], decode = [] } = times[i] ?? {}
    console.log(
      `| ${way.name} | ${bytes.toFixed(0)} | ${median(encode).toFixed(1)} | ${median(decode).toFixed(1)} |`,
    )
  }
}

const random = createRandom(2009)
measure('The entry of the article', () => articleEntry(random))
let entries = 0
measure('The entry of the benchmark', () =>
  createEntry(entries++, random.uuid(), { bag: undefined, extras: 0 }),
)
