import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { createConnection } from 'mysql2'
import { protocolFlags } from '../src/connection/mysql2.ts'

/** One command of a client. */
export interface Command {
  /** Numbers the clients in the order in which they came, from 0. */
  readonly client: number
  /** The statement, of a command that has one; else empty. */
  readonly text: string
}

/** Stands between drivers and a server, and hands every command to one of its own sessions on that server. */
export interface SessionPooler {
  readonly url: string
  /** Which session the next command goes to, from 0. */
  route: (command: Command) => number
  /** Says something in one of the sessions, as another user of the pooler would. */
  tell(session: number, statement: string): Promise<void>
  close(): Promise<void>
}

export interface SessionPoolerOptions {
  readonly sessions: number
  /** What every session is told at first. */
  readonly setUp?: string | undefined
  /** Ends what was left open in a session before a new client comes that shall keep it, as `keepSessions` has it. */
  readonly rollsBack?: boolean | undefined
}

/** Every client has a session of its own for as long as it is there, as a pooler should have it. */
export const keepSessions = ({ client }: Command): number => client

/** Every command goes to any session, as no pooler should have it. */
export function mixSessions(sessions: number): SessionPooler['route'] {
  return () => Math.floor(Math.random() * sessions)
}

const QUIT = 0x01
const QUERY = 0x03
const PREPARE = 0x16
const EXECUTE = 0x17
/** In the upper half of the abilities. */
const QUERY_ATTRIBUTES = 0x0800
/** Long data, and the end of a prepared statement. */
const UNANSWERED = new Set([0x18, 0x19])

/** For packets below 16 MiB without encryption. Every user is let in. */
export async function startSessionPooler(
  to: string,
  { sessions: count, setUp, rollsBack = false }: SessionPoolerOptions,
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
        // OK, with autocommit on, in answer to whatever the client has said of itself.
        return void socket.write(Buffer.from([7, 0, 0, (packet[3] as number) + 1, 0, 0, 0, 2, 0, 0, 0]))
      }
      const kind = packet[4] as number
      if (kind === QUIT) return void socket.end()
      const text = kind === QUERY || kind === PREPARE ? packet.subarray(5).toString('latin1') : ''
      const session = sessions[pooler.route({ client, text }) % count] as ServerSession
      session.send(packet, (bytes) => socket.destroyed || socket.write(bytes))
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
        const text = Buffer.from(statement)
        const packet = Buffer.concat([Buffer.alloc(5), text])
        packet.writeUIntLE(1 + text.length, 0, 3)
        packet[4] = QUERY
        const { send } = sessions[session] as ServerSession
        // No rows are expected: the first packet is the answer.
        send(packet, () => resolve())
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

interface ServerSession {
  /** Sends a command when those before it have been answered. */
  send(command: Buffer, answer: (bytes: Buffer) => void): void
  close(): void
}

interface Sent {
  readonly command: Buffer
  readonly answer: (bytes: Buffer) => void
  /** Packets to come until the next that may be the last; undefined while the rows of an answer come. */
  toCome: number | undefined
  isBegun: boolean
}

async function openSession(to: string, setUp: string | undefined): Promise<ServerSession> {
  // Agrees with the server on the same words as the drivers, so that answers can be passed on as they are.
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
    sent.answer(packet)
    if (!isLast(sent, packet)) return
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

/** Whether an answer is complete with this packet. */
function isLast(sent: Sent, packet: Buffer): boolean {
  const kind = sent.command[4] as number
  const first = packet[4]
  if (first === 0xff) return true
  if (!sent.isBegun) {
    sent.isBegun = true
    if (kind === PREPARE) {
      const lists = [packet.readUInt16LE(9), packet.readUInt16LE(11)]
      // Each is followed by an end of its own.
      sent.toCome = lists.reduce((sum, length) => sum + (length === 0 ? 0 : length + 1), 0)
      return sent.toCome === 0
    }
    if ((kind !== QUERY && kind !== EXECUTE) || first === 0) return true
    // Less than 251 columns, and the end of their list.
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

/** The first packet of a server: its version, and what it can do; but for the attributes that queries could have. */
async function greetingOf({ port, hostname }: URL): Promise<Buffer> {
  const socket = connect(Number(port), hostname)
  const greeting = await new Promise<Buffer>((resolve, reject) => {
    socket.on('error', reject)
    onPackets(socket, resolve)
  })
  socket.destroy()
  // Behind the version: thread, salt, a zero, half of the abilities, character set, status, and the other half.
  const otherHalf = greeting.indexOf(0, 5) + 1 + 4 + 8 + 1 + 2 + 1 + 2
  greeting.writeUInt16LE(greeting.readUInt16LE(otherHalf) & ~QUERY_ATTRIBUTES, otherHalf)
  return greeting
}
