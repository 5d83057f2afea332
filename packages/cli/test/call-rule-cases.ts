import { LooseleafError } from '@looseleaf/core'
import { NOTED_MS, type CallFailures, type FailureReport } from '@looseleaf/store/internal'
import type { Facts } from '../src/health/facts.ts'

interface RuleCases {
  readonly found: readonly [Facts, ...string[]][]
  readonly well: readonly Facts[]
}

/** Returns cases for the rules about failing calls, made from the facts of a healthy store. */
export function callRuleCases(well: Facts): Readonly<Record<string, RuleCases>> {
  const noted = (
    failure: Partial<CallFailures>,
    { calls = 1_000, msAgo = 20_000, ...report }: Partial<FailureReport> & { msAgo?: number } = {},
  ): FailureReport => ({
    process: 'host:7',
    at: new Date(well.now - msAgo),
    isOver: false,
    periodMs: 60_000,
    calls,
    failures: [
      { code: 'SHARD_FULL', shard: 'one', count: 730, lastAt: well.now, message: 'one: full.', ...failure },
    ],
    ...report,
  })
  const failing = (...failures: FailureReport[]): Facts => ({ ...well, failures })
  const probed = (error?: LooseleafError): Facts => ({
    ...well,
    probes: [{ name: 'one', error, bytes: 1, bytesPerDay: undefined }],
  })
  const full = new LooseleafError('SHARD_FULL', 'one: the disk is full.', { shard: 'one' })
  const readOnly = new LooseleafError('SHARD_UNAVAILABLE', 'one: read-only.', { shard: 'one' })
  const busy = { code: 'SHARD_BUSY', count: 3 } as const

  return {
    writes: {
      found: [
        [probed(full), 'shard one', 'does not take a small write', 'SHARD_FULL', 'make room'],
        [probed(readOnly), 'read-only', 'set read_only to OFF'],
      ],
      well: [
        probed(),
        // The rule `shard` reports it.
        {
          ...probed(readOnly),
          report: { ...well.report!, shards: [{ ...well.report!.shards[0]!, error: readOnly }] },
        },
      ],
    },
    'failing calls': {
      found: [
        [
          failing(noted({})),
          'shard one',
          '730 of 1,000 calls (73 %)',
          '1 process',
          'one: full.',
          'make room',
        ],
        [failing(noted({}), noted({ count: 70 })), '800 of 2,000 calls (40 %)', '2 processes'],
        [failing(noted({ count: 1 })), '1 of 1,000 calls (less than 1 %)'],
        [failing(noted({ count: 999 })), '999 of 1,000 calls (more than 99 %)'],
        [failing(noted({ ...busy, count: 10 })), 'SHARD_BUSY', 'looseleaf slow'],
        [failing(noted({ code: 'STATEMENT_FAILED' })), 'do what the message says'],
      ],
      well: [
        failing(noted({}, { isOver: true })),
        failing(noted({}, { msAgo: NOTED_MS + 1 })),
        failing(noted(busy)),
      ],
    },
    'some calls fail': {
      found: [[failing(noted(busy)), 'shard one', '3 of 1,000 calls', 'SHARD_BUSY', 'looseleaf slow']],
      well: [
        failing(noted({})),
        failing(noted({ ...busy, count: 10 })),
        failing(noted(busy, { isOver: true })),
      ],
    },
  }
}
