import { setTimeout as sleep } from 'node:timers/promises'
import { createConnection } from 'mysql2/promise'
import { LOAD_USER } from '../../lab/cluster.ts'
import type { Shard } from '../../lab/shard.ts'
import type { Facts, Scenario, Stage } from './scenario.ts'

/** Kills connections of the load on a server. Their clients notice at their next statement. */
export async function killConnections(shard: Shard, chosen: () => boolean): Promise<number> {
  const found = await shard.admin('SHOW PROCESSLIST')
  let killed = 0
  for (const row of found) {
    if (row['User'] !== LOAD_USER || !chosen()) continue
    // The connection may be closed already.
    await shard.admin(`KILL CONNECTION ${Number(row['Id'])}`).then(
      () => killed++,
      () => undefined,
    )
  }
  return killed
}

/**
 * Changes a global setting during the scenario. Connections are reopened, so that they have it, and the old
 * value is restored.
 */
async function withSetting(stage: Stage, name: string, value: string): Promise<Facts> {
  const { shards } = stage.cluster
  const old = await Promise.all(
    shards.map(async (shard) => (await shard.admin(`SELECT @@GLOBAL.${name} AS value`))[0]?.['value']),
  )
  let reconnected = 0
  const renew = async (): Promise<void> => {
    for (const shard of shards) reconnected += await killConnections(shard, () => true)
  }
  try {
    for (const shard of shards) await shard.admin(`SET GLOBAL ${name} = ${value}`)
    await renew()
    await sleep(stage.amount * 1000)
  } finally {
    for (const [i, shard] of shards.entries()) {
      const text = typeof old[i] === 'number' ? String(old[i]) : `'${String(old[i])}'`
      await shard.admin(`SET GLOBAL ${name} = ${text}`)
    }
    await renew()
  }
  return { 'connections renewed': reconnected }
}

export const killStorm: Scenario = {
  name: 'KILL CONNECTION storm',
  what: 'connections are killed on the servers all the time, in the middle of statements',
  unit: 'seconds',
  full: 30,
  async run({ cluster, random, amount }) {
    let killed = 0
    const until = performance.now() + amount * 1000
    while (performance.now() < until) {
      killed += await killConnections(random.pick(cluster.shards), () => random.chance(0.3))
      await sleep(10)
    }
    return { killed }
  },
}

const LOCKERS = 6

export const deadlockStorm: Scenario = {
  name: 'deadlock storm',
  what: 'other sessions lock the same entities and index rows in every order, in transactions that they roll back',
  unit: 'seconds',
  full: 25,
  async run(stage) {
    const { random, amount, hot } = stage
    const until = performance.now() + amount * 1000
    const facts = { transactions: 0, 'deadlocks of the others': 0 }
    const urls = stage.database.adminUrls()
    const tables = ['entities', ...(await indexTables(stage))]
    await Promise.all(
      Array.from({ length: LOCKERS }, async () => {
        const connection = await createConnection(random.pick(urls))
        await connection.query('SET SESSION innodb_lock_wait_timeout = 1')
        while (performance.now() < until) {
          await connection.query('START TRANSACTION')
          facts.transactions++
          try {
            for (let step = 0; step < 3; step++) {
              const table = random.pick(tables)
              const column = table === 'entities' ? 'id' : 'entity_id'
              const id = random.pick(hot).replaceAll('-', '')
              await connection.query(`SELECT version FROM \`${table}\` WHERE ${column} = x'${id}' FOR UPDATE`)
              await sleep(random.below(15))
            }
          } catch (error) {
            if ((error as { errno?: unknown }).errno === 1213) facts['deadlocks of the others']++
          }
          await connection.query('ROLLBACK')
        }
        connection.destroy()
      }),
    )
    return facts
  },
}

async function indexTables({ tables }: Stage): Promise<string[]> {
  const found = await tables.ask(0, 'SHOW TABLES WHERE 1 = 1')
  return found
    .map((row) => String(Object.values(row)[0]))
    .filter((name) => !/^entities$|^looseleaf/.test(name))
}

export const readOnly: Scenario = {
  name: 'read-only server',
  what: 'both servers become read-only, as after a failover, and writable again',
  unit: 'seconds',
  full: 20,
  needsErrors: ['SHARD_UNAVAILABLE'],
  run: (stage) => withSetting(stage, 'read_only', '1'),
}

export const tooManyConnections: Scenario = {
  name: 'too many connections',
  what: 'the servers allow 10 connections, but the load wants 40',
  unit: 'seconds',
  full: 20,
  processes: 5,
  config: { poolSize: 8, clients: 8 },
  needsErrors: ['SHARD_BUSY'],
  run: (stage) => withSetting(stage, 'max_connections', '10'),
}

export const smallPackets: Scenario = {
  name: 'small max_allowed_packet',
  what: 'the servers accept packets of up to 64 KiB, and a tenth of the puts are larger',
  unit: 'seconds',
  full: 20,
  config: { largeBodies: 0.1 },
  needsErrors: ['BODY_TOO_LARGE'],
  run: (stage) => withSetting(stage, 'max_allowed_packet', '65536'),
}

export const serverClock: Scenario = {
  name: 'clocks set back and forth',
  what: 'sessions are an hour behind, an hour ahead, or in January 2038; entities are dated 2041, as if the clock was set back since; clocks of processes are an hour off, and one shows 2040',
  unit: 'seconds',
  full: 25,
  needs: ['changes of the clock', 'entities dated 2041'],
  processes: 4,
  ofProcess: (number) => ({
    clockOffsetMs: [0, -3_600_000, 3_600_000, Date.UTC(2040, 0, 1) - Date.now()][number] ?? 0,
  }),
  async run(stage) {
    const { cluster, random, amount } = stage
    const until = performance.now() + amount * 1000
    let changes = 0
    let dated = 0
    const now = Math.floor(Date.now() / 1000)
    const times = [now - 3600, now + 3600, 2_147_483_640, 2_147_483_647, 0]
    try {
      while (performance.now() < until) {
        const time = random.pick(times)
        for (const shard of cluster.shards) {
          // `timestamp` is a session variable, so each new session of the load sets it; 0 means the true
          // time.
          await shard.admin(`SET GLOBAL init_connect = 'SET timestamp = ${time === 0 ? 'DEFAULT' : time}'`)
          await killConnections(shard, () => random.chance(0.6))
        }
        changes++
        dated += await dateLater(stage)
        await sleep(700)
      }
    } finally {
      for (const shard of cluster.shards) {
        await shard.admin("SET GLOBAL init_connect = ''")
        await killConnections(shard, () => true)
      }
    }
    return { 'changes of the clock': changes, 'entities dated 2041': dated }
  },
}

/** Gives an entity a time in 2041, which the server itself would not accept as its own. */
async function dateLater({ random, hot, tables, cluster }: Stage): Promise<number> {
  const id = random.pick(hot).replaceAll('-', '')
  const statement = `UPDATE entities SET updated = '2041-02-03 04:05:06.789' WHERE id = x'${id}'`
  const count = `SELECT COUNT(*) AS found FROM entities WHERE updated > '2041-01-01' AND id = x'${id}'`
  let found = 0
  for (const shard of cluster.shards.keys()) {
    // The row may stay locked beyond the timeout.
    await tables.ask(shard, statement).catch(() => undefined)
    found += Number((await tables.ask(shard, count))[0]?.['found'])
  }
  return found
}

const ZONES = ['Asia/Kolkata', 'America/St_Johns', 'Pacific/Apia'] as const

export const timeZones: Scenario = {
  name: 'time zones',
  what: 'the servers and each process have different time zones; indexed times are before 1970, around daylight saving changes and after 2038',
  unit: 'seconds',
  full: 20,
  environmentOf: (number) => ({ TZ: ZONES[number % ZONES.length] }),
  run: (stage) => withSetting(stage, 'time_zone', "'-11:30'"),
}
