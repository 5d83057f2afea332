/** Thrown to a read of entities if its shard may not have owned them when it answered. The read then asks the owner. */
export class OwnerChanged extends Error {
  override readonly name = 'OwnerChanged'
}
