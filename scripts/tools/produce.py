"""Produces 200 records of 1000 bytes with a Python client as one user and
client-id (USER-app), and prints the longest throttle that the client was told of,
in milliseconds:

    produce.py LIBRARY BROKER USER PASSWORD TOPIC     LIBRARY: confluent or kafka
"""
import sys

library, broker, user, password, topic = sys.argv[1:]
value, records, batch = b"x" * 1000, 200, 32 << 10


def confluent():
    from confluent_kafka import Producer
    told, failed = [0.0], []
    p = Producer({"bootstrap.servers": broker, "client.id": user + "-app", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN",
                  "sasl.username": user, "sasl.password": password, "linger.ms": 5, "batch.size": batch,
                  "throttle_cb": lambda e: told.append(e.throttle_time * 1000)})
    for _ in range(records):
        p.produce(topic, value, on_delivery=lambda e, m: failed.append(e) if e else None)
    left = p.flush(30)
    p.poll(0.1)
    if failed or left:
        sys.exit(f"{failed[:1]}, {left} left")
    return max(told)


def kafka():
    from kafka import KafkaProducer
    p = KafkaProducer(bootstrap_servers=broker, client_id=user + "-app", security_protocol="SASL_PLAINTEXT", sasl_mechanism="PLAIN",
                      sasl_plain_username=user, sasl_plain_password=password, linger_ms=5, batch_size=batch)
    sent = [p.send(topic, value) for _ in range(records)]
    p.flush(30)
    for s in sent:
        s.get(1)
    told = max(v for group in p.metrics().values() for k, v in group.items() if k.endswith("throttle-time-max"))
    p.close()
    return told


print("%.0f" % {"confluent": confluent, "kafka": kafka}[library]())
