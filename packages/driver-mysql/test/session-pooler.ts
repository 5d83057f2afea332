import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { createConnection } from 'mysql2'
import { protocolFlags } from '../src/connection/mysql2.ts'

/** A command of a client. */
export interface Command {
  /** Number of the client, in the order of connecting, from 0. */
  readonly client: number
  /** Text of the statement; empty for a command without one. */
  readonly text: string
}

/** Stands between drivers and a server, and sends every command to one of its own sessions on that server. */
export interface SessionPooler {
  readonly url: string
  /** Returns the session for the next command, from 0. */
  route: (command: Command) => number
  /** Runs a statement in a session, as another client of the pooler would. */
  tell(session: number, statement: string): Promise<void>
  close(): Promise<void>
}

export interface SessionPoolerOptions {
  readonly sessions: number
  /** Statement that every session runs first. */
  readonly setUp?: string | undefined
  /**
   * How it treats a packet of several statements: `whole` sends it to one session, `apart` routes each statement, and `refused` answers
   * with an error of the syntax, as a proxy does that knows no such packets. Default: `whole`.
   */
  readonly packets?: PacketRoute | undefined
  /** Rolls back what was left open in a session before a new client gets it, with `keepSessions`. */
  readonly rollsBack?: boolean | undefined
}

export type PacketRoute = 'whole' | 'apart' | 'refused'

/** Gives each client its own session while it is connected, as a pooler should. */
export const keepSessions = ({ client }: Command): number => client

/** Sends every command to any session, as no pooler should. */
export function mixSessions(sessions: number): SessionPooler['route'] {
  return () => Math.floor(Math.random() * sessions)
}

const QUIT = 0x01
const QUERY = 0x03
const PREPARE = 0x16
const EXECUTE = 0x17
/** Bit in the upper half of the capabilities. */
const QUERY_ATTRIBUTES = 0x0800
/** Commands without an answer: long data, and closing a prepared statement. */
const UNANSWERED = new Set([0x18, 0x19])

/** Supports packets below 16 MiB without encryption, and accepts every user. */
export async function startSessionPooler(
  to: string,
  { sessions: count, setUp, rollsBack = false, packets = 'whole' }: SessionPoolerOptions,
): Promise<SessionPooler> {
  const greeting = await greetingOf(new URL(to))
  const sessions = await Promise.all(Array.from({ length: count }, () => openSession(to, setUp)))
  const clients = new Map<Socket, number>()
  let numbered = 0

  const server = createServer({ noDelay: true }, (socket) => {
    const client = numbered++
    let isIn = false
    const isFree = [...clients.values()].every((other) => other % count !== client % count)
    clients.set(socket, client)
    if (rollsBack && isFree) void pooler.tell(client % count, 'ROLLBACK')
    socket.on('error', () => undefined)
    socket.on('close', () => clients.delete(socket))
    socket.write(greeting)
    onPackets(socket, (packet) => {
      if (!isIn) {
        isIn = true
        // OK, with autocommit on, is the answer to any login.
        return void socket.write(Buffer.from([7, 0, 0, (packet[3] as number) + 1, 0, 0, 0, 2, 0, 0, 0]))
      }
      const kind = packet[4] as number
      if (kind === QUIT) return void socket.end()
      const text = kind === QUERY || kind === PREPARE ? packet.subarray(5).toString('latin1') : ''
      const sessionFor = (statement: string): ServerSession =>
        sessions[pooler.route({ client, text: statement }) % count] as ServerSession
      const answer = (bytes: Buffer): void => void (socket.destroyed || socket.write(bytes))
      const texts = kind === QUERY ? text.split('; ') : []
      if (texts.length < 2 || packets === 'whole') return sessionFor(text).send(packet, answer)
      if (packets === 'refused') return answer(errorPacket(1064, 'You have an error in your SQL syntax'))
      void sendApart(texts, sessionFor, answer)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  const url = new URL(to)
  url.port = String((server.address() as AddressInfo).port)
  const pooler: SessionPooler = {
    url: url.href,
    route: keepSessions,
    tell: (session, statement) =>
      new Promise((resolve) => {
        const { send } = sessions[session] as ServerSession
        // The setup expects no rows, so the first packet is the answer.
        send(queryPacket(statement), () => resolve())
      }),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of clients.keys()) socket.destroy()
      for (const session of sessions) session.close()
      await closed
    },
  }
  return pooler
}

/** Sends each statement of a packet to the session of its route, and joins the answers to one. */
async function sendApart(
  texts: readonly string[],
  sessionFor: (text: string) => ServerSession,
  answer: (bytes: Buffer) => void,
): Promise<void> {
  let sequence = 1
  for (const [i, text] of texts.entries()) {
    const hasFailed = await new Promise<boolean>((resolve) =>
      sessionFor(text).send(queryPacket(text), (bytes, isEnd) => {
        const packet = Buffer.from(bytes)
        packet[3] = sequence++ & 0xff
        if (isEnd && i < texts.length - 1) markMore(packet)
        answer(packet)
        if (isEnd) resolve(packet[4] === 0xff)
      }),
    )
    if (hasFailed) return
  }
}

function queryPacket(statement: string): Buffer {
  const text = Buffer.from(statement, 'latin1')
  const packet = Buffer.concat([Buffer.alloc(5), text])
  packet.writeUIntLE(1 + text.length, 0, 3)
  packet[4] = QUERY
  return packet
}

function errorPacket(number: number, message: string): Buffer {
  const text = Buffer.from(`#42000${message}`)
  const packet = Buffer.concat([Buffer.alloc(7), text])
  packet.writeUIntLE(3 + text.length, 0, 3)
  packet[3] = 1
  packet[4] = 0xff
  packet.writeUInt16LE(number, 5)
  return packet
}

interface ServerSession {
  /** Sends a command after the earlier ones were answered. */
  send(command: Buffer, answer: (bytes: Buffer, isLast: boolean) => void): void
  close(): void
}

interface Sent {
  readonly command: Buffer
  readonly answer: (bytes: Buffer, isLast: boolean) => void
  /** Number of packets until the next that may be the last; undefined while rows arrive. */
  toCome: number | undefined
  isBegun: boolean
}

async function openSession(to: string, setUp: string | undefined): Promise<ServerSession> {
  // The pooler has the same capabilities with the server as the drivers, so that it can pass on answers unchanged.
  const flags = [...protocolFlags, '-CLIENT_QUERY_ATTRIBUTES']
  const connection = createConnection({ uri: to, flags })
  connection.on('error', () => undefined)
  await new Promise<void>((resolve, reject) =>
    connection.query(setUp ?? 'DO 0', (error) => (error === null ? resolve() : reject(error))),
  )
  const { stream } = connection as unknown as { stream: Socket }
  stream.removeAllListeners('data')
  const queue: Sent[] = []
  const write = (): void => {
    for (let next = queue[0]; next !== undefined; next = queue[0]) {
      stream.write(next.command)
      if (!UNANSWERED.has(next.command[4] as number)) return
      queue.shift()
    }
  }
  onPackets(stream, (packet) => {
    const sent = queue[0]
    if (sent === undefined) return
    const isEnd = isLast(sent, packet)
    sent.answer(packet, isEnd)
    if (!isEnd) return
    queue.shift()
    write()
  })
  return {
    send(command, answer) {
      queue.push({ command, answer, toCome: 1, isBegun: false })
      if (queue.length === 1) write()
    },
    close: () => stream.destroy(),
  }
}

/** Bit of the status: the answer to a further statement follows. */
const MORE_RESULTS = 0x0008

/** Returns the place of the status in an OK packet or an EOF packet. */
function statusAt(packet: Buffer): number {
  if (packet[4] === 0xfe) return 7
  let at = 5
  for (let numbers = 0; numbers < 2; numbers++) {
    const first = packet[at] as number
    at += first < 0xfb ? 1 : first === 0xfc ? 3 : first === 0xfd ? 4 : 9
  }
  return at
}

function markMore(packet: Buffer): void {
  if (packet[4] === 0xff) return
  const at = statusAt(packet)
  packet.writeUInt16LE(packet.readUInt16LE(at) | MORE_RESULTS, at)
}

/** Tells whether this packet completes the answers to a command. */
function isLast(sent: Sent, packet: Buffer): boolean {
  if (!endsResult(sent, packet)) return false
  const kind = sent.command[4] as number
  if (kind !== QUERY || packet[4] === 0xff) return true
  if ((packet.readUInt16LE(statusAt(packet)) & MORE_RESULTS) === 0) return true
  sent.isBegun = false
  return false
}

/** Tells whether this packet completes an answer. */
function endsResult(sent: Sent, packet: Buffer): boolean {
  const kind = sent.command[4] as number
  const first = packet[4]
  if (first === 0xff) return true
  if (!sent.isBegun) {
    sent.isBegun = true
    if (kind === PREPARE) {
      const lists = [packet.readUInt16LE(9), packet.readUInt16LE(11)]
      // Each list ends with its own EOF packet.
      sent.toCome = lists.reduce((sum, length) => sum + (length === 0 ? 0 : length + 1), 0)
      return sent.toCome === 0
    }
    if ((kind !== QUERY && kind !== EXECUTE) || first === 0) return true
    // Less than 251 columns, and the EOF packet after them.
    sent.toCome = (first as number) + 1
    return false
  }
  if (sent.toCome !== undefined) {
    sent.toCome--
    if (sent.toCome > 0) return false
    if (kind === PREPARE) return true
    sent.toCome = undefined
    return false
  }
  return first === 0xfe && packet.length < 4 + 9
}

function onPackets(socket: Socket, listener: (packet: Buffer) => void): void {
  let rest = Buffer.alloc(0)
  socket.on('data', (bytes) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
    while (rest.length >= 4) {
      const length = 4 + rest.readUIntLE(0, 3)
      if (rest.length < length) return
      const packet = rest.subarray(0, length)
      rest = rest.subarray(length)
      listener(packet)
    }
  })
}

/** Rewrites the greeting of a server: its version and its capabilities, without query attributes. */
async function greetingOf({ port, hostname }: URL): Promise<Buffer> {
  const socket = connect(Number(port), hostname)
  const greeting = await new Promise<Buffer>((resolve, reject) => {
    socket.on('error', reject)
    onPackets(socket, resolve)
  })
  socket.destroy()
  // After the version: thread, salt, a zero, lower half of the capabilities, character set, status, upper half.
  const otherHalf = greeting.indexOf(0, 5) + 1 + 4 + 8 + 1 + 2 + 1 + 2
  greeting.writeUInt16LE(greeting.readUInt16LE(otherHalf) & ~QUERY_ATTRIBUTES, otherHalf)
  return greeting
}
