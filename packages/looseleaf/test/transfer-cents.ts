/**
 * Transfers cents between accounts of one bucket, until it is killed: `node transfer-cents.ts <url> <id>…`. Prints `ready`, and each failure
 * that is none of a killed connection.
 */
import { DataStore, isLooseleafError, mysqlShards, type EntityId } from 'looseleaf'

const [url, ...given] = process.argv.slice(2)
const ids = given as EntityId[]
const store = await DataStore.open({ shards: mysqlShards([url!]), onWarning: () => {} })
process.stdout.write('ready\n')

const chosen = (): EntityId => ids[Math.floor(Math.random() * ids.length)]!

async function transfer(): Promise<void> {
  const [from, to] = [chosen(), chosen()]
  if (from === to) return
  const cents = 1 + Math.floor(Math.random() * 9)
  const add = (id: EntityId, sign: 1 | -1) => ({
    update: id,
    edit: (bag: { readonly [name: string]: unknown }) => {
      const left = Number(bag['cents']) + sign * cents
      if (left < 0) throw new RangeError('not enough')
      return { ...bag, cents: left }
    },
  })
  try {
    await store.batch([add(from, -1), add(to, 1), { insert: { from, to, cents } }])
  } catch (error) {
    const isExpected =
      error instanceof RangeError || (isLooseleafError(error) && (error.retryable || error.unknownOutcome))
    if (!isExpected) process.stdout.write(`${String(error)}\n`)
  }
}

async function loop(): Promise<never> {
  for (;;) await transfer()
}
await Promise.all([loop(), loop(), loop()])
