import { LooseleafError, type Bag, type CallOptions, type Codec } from '@looseleaf/core'
import { badOption, isUndecodable, type CodecEntries } from '@looseleaf/core/internal'
import { bytesInHand, presentShards, type EngineContext } from '@looseleaf/index-engine/internal'
import { publishCodecEntries } from './publish-codec-entries.ts'

export interface TrainOptions extends CallOptions {
  /** Largest number of entities to learn from: those written last with up to 16 KiB before compression, as many from each shard. Default: 2,000. */
  readonly sample?: number | undefined
  /** Largest size of the dictionary in bytes, up to 32,768. Default: 4,096. Twice as many save a hundredth more, and cost 5 µs per body. */
  readonly bytes?: number | undefined
}

export interface TrainedDictionary {
  readonly id: string
  readonly bytes: number
  /** Entities that it was made from. */
  readonly sample: number
  /** Entities of the sample that could not be decoded. */
  readonly unreadable: number
}

/** Bytes before compression. Longer bodies are skipped: a dictionary helps bodies that are too small to be compressed alone. */
const MAX_BODY = 16 * 1024
/** Rows per statement. */
const PAGE = 500
/** Fewer bags have too little text in common. */
export const MIN_SAMPLE = 20

/** Returns the codec entries of a codec. Throws `BAD_OPTION` if it has none. */
function codecEntriesOf(codec: Codec): CodecEntries {
  if ('codecEntries' in codec) return codec.codecEntries as CodecEntries
  throw badOption(`The codec ${codec.name} knows no shapes and no dictionaries; those of envelopeCodec do.`)
}

export async function trainDictionary(
  context: EngineContext,
  { sample = 2_000, bytes = 4_096, ...options }: TrainOptions,
): Promise<TrainedDictionary> {
  const codecEntries = codecEntriesOf(context.codec)
  const { bags, unreadable } = await newestBags(context, sample, options)
  const dictionary = bags.length < MIN_SAMPLE ? undefined : codecEntries.train(bags, bytes)
  if (dictionary === undefined || dictionary.bytes.length < 64) {
    throw new LooseleafError(
      'NOT_FOUND',
      `Nothing was stored: a dictionary needs ${MIN_SAMPLE} readable entities of up to ${MAX_BODY} bytes before compression with something in common; ${bags.length} were looked at, and ${unreadable} could not be read.`,
    )
  }
  const confirmed = await publishCodecEntries(context, codecEntries, [dictionary], options)
  if (!confirmed.includes(dictionary.id)) {
    throw new LooseleafError('CONFLICT', `The dictionary ${dictionary.id} is not stored on every shard.`)
  }
  return { id: dictionary.id, bytes: dictionary.bytes.length, sample: bags.length, unreadable }
}

interface Sample {
  readonly bags: Bag[]
  readonly unreadable: number
}

async function newestBags(context: EngineContext, sample: number, options: CallOptions): Promise<Sample> {
  const { driver, codec, bodies } = context
  const bags: Bag[] = []
  let unreadable = 0
  const shards = presentShards(driver)
  for (const [place, { entities, name }] of shards.entries()) {
    const wanted = Math.ceil((sample - bags.length) / (shards.length - place))
    const until = bags.length + wanted
    let before: { readonly updated: number; readonly addedId: number } | undefined
    while (bags.length < until) {
      const range = { since: 0, ...(before !== undefined && { before }) }
      const rows = await entities.pageByUpdated(range, PAGE, { ...options, maxBody: MAX_BODY })
      for (const { body } of rows) {
        if (body === null || body === undefined || bags.length >= until) continue
        if (bytesInHand(codec, body) > MAX_BODY) continue
        try {
          bags.push(await bodies.decode(body, name))
        } catch (error) {
          if (!isUndecodable(error)) throw error
          unreadable++
        }
      }
      before = rows.at(-1)
      if (rows.length < PAGE) break
    }
  }
  return { bags, unreadable }
}
