import type { HintedQuery, PacketAnswer } from '@looseleaf/driver-kysely/internal'
import { CompiledQuery } from 'kysely'
import { expect, test } from 'vitest'
import { sessionToken } from '../settings/session-token.ts'
import { createConnection, type Connection } from './connection.ts'
import type { ClientAnswer, ClientConnection } from './mysql2.ts'

/** A connection to a server that answers everything. `text` and `prepared` list the statements that it got. */
function connect(
  refusal?: { readonly errno: number },
  packet: ClientConnection['queryAll'] = () => {},
  isDirect = true,
  { rows = [], readOnlyMs = 0 }: { rows?: readonly object[]; readOnlyMs?: number } = {},
): {
  readonly connection: Connection
  readonly sent: string[]
} {
  const sent: string[] = []
  let status = 2
  const answer = (done: (error: unknown, answer: ClientAnswer) => void): void =>
    done(null, { result: rows, status })
  const client: ClientConnection = {
    connected: (done) => done(undefined),
    query({ sql }, done) {
      sent.push(`text ${sql}`)
      if (sql === 'START TRANSACTION') status |= 1
      answer(done)
    },
    queryAll(statement, ...rest) {
      sent.push(`packet ${statement.sql}`)
      packet(statement, ...rest)
    },
    execute({ sql, values }, done) {
      sent.push(`prepared ${sql} ${values.join(' ')}`)
      if (refusal === undefined) answer(done)
      else done(refusal, undefined as unknown as ClientAnswer)
    },
    end: (done) => done(undefined),
    destroy: () => {},
    onLost: () => {},
    isHeard: true,
    greetedAs: undefined,
  }
  const connection = createConnection({
    client,
    openedAt: performance.now(),
    token: Buffer.alloc(8),
    isDirect,
    maxPacketBytes: 1_000_000,
    isolationName: 'tx_isolation',
    readOnlyMs,
    health: { answered: () => {}, failed: () => {}, silent: () => {} },
    kill: () => {},
  })
  connection.begin(performance.now() + 10_000)
  return { connection, sent }
}

const ask = (
  connection: Connection,
  sql: string,
  hints: Partial<HintedQuery> = { keep: 'common' },
): Promise<unknown> => connection.executeQuery({ ...CompiledQuery.raw(sql, [1]), ...hints } as CompiledQuery)

test('frequent statements are prepared, and others sent as text', async () => {
  const { connection, sent } = connect()
  await ask(connection, 'A ?')
  await ask(connection, 'B ?', {})
  expect(sent).toEqual(['prepared A ? 1', 'text B 1'])
})

test('a connection keeps 48 common statements prepared, and sends further ones as text', async () => {
  const { connection, sent } = connect()
  for (let i = 0; i < 49; i++) await ask(connection, `S${i} ?`)
  await ask(connection, 'S0 ?')
  expect(sent.filter((statement) => statement.startsWith('prepared'))).toHaveLength(49)
  expect(sent.slice(-2)).toEqual(['text S48 1', 'prepared S0 ? 1'])
})

test('scans take no place of common statements', async () => {
  const { connection, sent } = connect()
  for (let use = 0; use < 8; use++)
    for (let i = 0; i < 25; i++) await ask(connection, `SCAN${i} ?`, { keep: 'scan' })
  for (let i = 0; i < 48; i++) await ask(connection, `S${i} ?`)
  expect(sent.slice(-73).filter((statement) => statement.startsWith('text'))).toEqual(['text SCAN24 1'])
})

test("a long write that the server cannot prepare is sent as text, or rejected with the server's reason", async () => {
  const { connection, sent } = connect({ errno: 1461 })
  const write = (length: number): Promise<unknown> =>
    connection.executeQuery({
      ...CompiledQuery.raw('A ? ?', [Buffer.alloc(length), sessionToken]),
      write: true,
    } as CompiledQuery)
  await write(100_000)
  expect(sent.map((statement) => statement.split(' ')[0])).toEqual(['prepared', 'text'])
  await expect(write(600_000)).rejects.toMatchObject({ errno: 1461 })
})

test('a long write is prepared if it has the token, and other long statements are sent as text', async () => {
  const { connection, sent } = connect()
  const long = 'x'.repeat(70_000)
  const send = async (parameters: readonly unknown[], write: boolean): Promise<unknown> =>
    connection.executeQuery({ ...CompiledQuery.raw('A ? ?', [...parameters]), write } as CompiledQuery)
  await send([long, sessionToken], true)
  await send([long, 1], true)
  await send([long, sessionToken], false)
  expect(sent.map((statement) => statement.split(' ')[0])).toEqual(['prepared', 'text', 'text'])
})

test('a statement that is longer than a packet is not sent', async () => {
  const { connection, sent } = connect()
  for (const keep of ['common', undefined] as const)
    await expect(ask(connection, `A ? ${'x'.repeat(1_000_001)}`, { keep })).rejects.toMatchObject({
      code: 'PACKET_TOO_LARGE',
    })
  expect(sent).toEqual([])
})

test('a transaction prepares no statement', async () => {
  const { connection, sent } = connect()
  await connection.startTransaction()
  await ask(connection, 'A ?')
  expect(sent).toEqual(['text START TRANSACTION', 'text A 1'])
})

test.each([1295, 1461, 1615])(
  'error %i makes a connection send everything as text, that statement too',
  async (errno) => {
    const { connection, sent } = connect({ errno })
    expect(await ask(connection, 'A ?')).toEqual({ rows: [] })
    await ask(connection, 'A ?')
    expect(sent).toEqual(['prepared A ? 1', 'text A 1', 'text A 1'])
    expect(connection.usable).toBe(true)
  },
)

test('any other error of a prepared statement is thrown', async () => {
  const { connection, sent } = connect({ errno: 1062 })
  await expect(ask(connection, 'A ?')).rejects.toMatchObject({ errno: 1062 })
  expect(sent).toHaveLength(1)
})

test('a prepared statement that its session does not know proves another session', async () => {
  const { connection } = connect({ errno: 1243 })
  await expect(ask(connection, 'A ?')).rejects.toMatchObject({
    code: 'OTHER_SESSION',
    reason: 'it does not know a statement that was prepared for this connection',
    unsure: false,
  })
  expect(connection.usable).toBe(false)
})

const COMMITTED = 2
const OPEN = 3

/** Answers a packet with these statuses, and the check of the token behind them. */
const answering =
  (...statuses: readonly number[]): ClientConnection['queryAll'] =>
  (_, onAnswer, done) => {
    for (const serverStatus of statuses) onAnswer({ affectedRows: 1, insertId: 0, serverStatus })
    done(null, { result: [], status: COMMITTED })
  }

const sendPacket = (connection: Connection): Promise<PacketAnswer | undefined> =>
  connection.executePacket!(
    ['A ?', 'B'].map((sql) => ({ ...CompiledQuery.raw(sql, sql === 'A ?' ? [1] : []), write: true })),
  )

test.each([
  ['', true, ''],
  [
    ', and the check of the token behind it if there is a pooler',
    false,
    "; SELECT 18446744073709551615 + (NOT (@looseleaf <=> x'0000000000000000'))",
  ],
])('a packet has the statements in a transaction%s', async (_, isDirect, check) => {
  const { connection, sent } = connect(undefined, answering(OPEN, OPEN, OPEN, COMMITTED), isDirect)
  expect(await sendPacket(connection)).toMatchObject({
    results: [{ numAffectedRows: 1n }, { numAffectedRows: 1n }],
  })
  expect(sent).toEqual([`packet START TRANSACTION; A 1; B; COMMIT${check}`])
  expect(connection.usable).toBe(true)
})

test.each([
  ['its START has begun no transaction', [COMMITTED, OPEN, OPEN, COMMITTED]],
  ['a statement was outside of a transaction', [OPEN, OPEN, COMMITTED, COMMITTED]],
  ['its COMMIT has ended none', [OPEN, OPEN, OPEN, OPEN]],
])('a packet fails if %s, and its connection is closed', async (_, statuses) => {
  const { connection } = connect(undefined, answering(...statuses))
  expect(await sendPacket(connection)).toMatchObject({ error: { code: 'OTHER_SESSION', unsure: true } })
  expect(connection.usable).toBe(false)
})

test('a packet with fewer answers than statements fails, and no further packet is sent', async () => {
  const { connection, sent } = connect(undefined, answering(OPEN))
  expect(await sendPacket(connection)).toMatchObject({ error: { code: 'ANSWERS_MISSING' } })
  expect(connection.usable).toBe(false)
  expect(await sendPacket(connection)).toBeUndefined()
  expect(sent).toHaveLength(1)
})

test('a packet that is too long for the server is not sent', async () => {
  const { connection, sent } = connect()
  const body = Buffer.alloc(500_000)
  const query = { ...CompiledQuery.raw('A ?', [body]), write: true }
  expect(await connection.executePacket!([query, query])).toBeUndefined()
  expect(sent).toEqual([])
})

test.each([
  [1290, true],
  [1836, true],
  [1047, true],
  [1205, false],
])(
  'after the error %i a connection tells whether its address may lead to another server: %s',
  async (errno, expected) => {
    const { connection } = connect({ errno })
    expect(connection.mayBeOutdated).toBe(false)
    await expect(ask(connection, 'A ?')).rejects.toMatchObject({ errno })
    expect([connection.mayBeOutdated, connection.usable]).toEqual([expected, true])
  },
)

test.each([
  ['a read-only server', 1, 0, true],
  ['a read-only server that answers with a word', 'ON', 0, true],
  ['a server that takes writes', 0, 0, false],
  ['a server that takes writes and answers with a word', 'OFF', 0, false],
  ['a read-only server, if the connection is young', 1, 60_000, false],
  ['a replica', 1, Number.POSITIVE_INFINITY, false],
])(
  'a check of a connection to %s tells whether its address may lead to another server',
  async (_, readOnly, readOnlyMs, expected) => {
    const { connection } = connect(undefined, undefined, true, { rows: [{ readOnly }], readOnlyMs })
    await connection.verify(1_000)
    expect([connection.mayBeOutdated, connection.usable]).toEqual([expected, true])
  },
)
